"""The file system of the guest: an uncompressed initramfs with busybox, Python, perf, tephra and the test programs."""

import glob
import os
import re
import stat
import subprocess

INIT = """#!/busybox/busybox sh
/busybox/busybox --install -s /busybox
export PATH=/usr/bin:/usr/sbin:/busybox HOME=/root
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm /tmp /root /var/tmp
mount -t devpts pts /dev/pts
mount -t tmpfs shm /dev/shm
mount -t tmpfs tmp /tmp
chmod 1777 /tmp /var/tmp
mount -t tracefs trace /sys/kernel/tracing
mount -t bpf bpf /sys/fs/bpf
mount -t cgroup2 cgroup /sys/fs/cgroup
echo 1 > /proc/sys/kernel/printk
ifconfig lo 127.0.0.1 up
cd /job
/busybox/sh ./run
echo "@@STATUS $?@@"
sync
poweroff -f
"""

# Whose programs the live tests use; what of it is not installed is left out, and busybox steps in where it can.
PACKAGES = ["coreutils", "util-linux", "util-linux-extra", "bsdutils", "mount", "procps", "bash", "dash", "grep", "sed",
            "findutils", "perl-base", "python3.11-minimal", "python3-minimal", "linux-perf",
            "binutils-x86-64-linux-gnu", "binutils", "debianutils", "tar", "gzip", "zstd"]
MERGED = ("bin", "sbin", "lib", "lib64")  # links to folders of the same name in /usr
PYTHON = "/usr/lib/python3.11"
LEFT_OUT = re.compile(r"/(__pycache__|tests?|idlelib|lib2to3|ensurepip|config-3.*|pydoc_data|turtledemo|tkinter)(/|$)")


def libraries_of(path):
    """The shared libraries that a program is loaded with."""
    done = subprocess.run(["ldd", path], capture_output=True, text=True)
    return {line.split("=>")[-1].split("(")[0].strip() for line in done.stdout.splitlines() if "/" in line}


class Archive:
    """A cpio archive of the kind the kernel unpacks ("newc")."""

    def __init__(self, path):
        self.file = open(path, "wb")
        self.names = set()
        self.inode = 0

    def close(self):
        self._entry("TRAILER!!!", 0, b"", 0)
        self.file.write(b"\0" * (-self.file.tell() % 512))
        self.file.close()

    def _entry(self, name, mode, content, device):
        self.inode += 1
        fields = [self.inode, mode, 0, 0, 1, 0, len(content), 0, 0, device >> 8, device & 255, len(name) + 1, 0]
        self.file.write(b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0")
        self.file.write(b"\0" * (-self.file.tell() % 4))
        self.file.write(content)
        self.file.write(b"\0" * (-self.file.tell() % 4))

    def add(self, name, mode, content=b"", device=0):
        name = name.strip("/")
        if name.split("/")[0] in MERGED and "/" in name:
            name = "usr/" + name
        if name in self.names:
            return
        if "/" in name:
            self.folder(os.path.dirname(name))
        self.names.add(name)
        self._entry(name, mode, content, device)

    def folder(self, name):
        self.add(name, stat.S_IFDIR | 0o755)

    def text(self, name, text, mode=0o755):
        self.add(name, stat.S_IFREG | mode, text.encode())

    def link(self, name, to):
        self.add(name, stat.S_IFLNK | 0o777, to.encode())

    def copy(self, path, name=None):
        with open(path, "rb") as file:
            self.add(name or path, stat.S_IFREG | stat.S_IMODE(os.stat(path).st_mode), file.read())

    def tree(self, folder, name=None):
        for where, _, files in os.walk(folder):
            if LEFT_OUT.search(where[len(folder):]):
                continue
            for file in files:
                path = os.path.join(where, file)
                if os.path.isfile(path):
                    self.copy(path, (name or folder) + path[len(folder):])

    def program(self, path, name=None):
        self.copy(path, name)
        for library in libraries_of(path):
            self.copy(library)

    def package(self, package):
        """The programs of an installed package, and what they need."""
        listed = subprocess.run(["dpkg", "-L", package], capture_output=True, text=True).stdout.splitlines()
        for path in listed:
            if not re.match(r"/(usr/)?(s?bin|lib)/", path) or os.path.isdir(path) or not os.path.exists(path):
                continue
            if os.path.islink(path):
                self.link(path, os.readlink(path))
            elif re.match(r"/(usr/)?s?bin/", path):
                self.program(path)
            else:
                self.copy(path)


def base_is_current(path):
    """Whether nothing was installed since it was written, and it is written in the same way still."""
    made_of = [__file__, "/var/lib/dpkg/status"]
    return os.path.exists(path) and os.path.getmtime(path) > max(map(os.path.getmtime, made_of))


def write_base(path):
    """What does not change with tephra."""
    archive = Archive(path)
    for folder in ("proc", "sys", "dev", "tmp", "root", "etc", "job", "usr/bin", "usr/sbin", "usr/lib", "usr/lib64",
                   "var/tmp"):
        archive.folder(folder)
    for name in MERGED:
        archive.link(name, "usr/" + name)
    archive.add("dev/console", stat.S_IFCHR | 0o600, device=5 << 8 | 1)
    archive.copy("/bin/busybox", "busybox/busybox")
    archive.text("init", INIT)
    archive.text("etc/passwd", "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n", 0o644)
    archive.text("etc/group", "root:x:0:\nnogroup:x:65534:\n", 0o644)
    for package in PACKAGES:
        archive.package(package)
    # perf's package may divert the name it is called by.
    if os.path.exists("/usr/bin/perf"):
        archive.program("/usr/bin/perf")
    archive.tree(PYTHON)
    archive.tree("/usr/lib/locale/C.utf8")
    for module in glob.glob(f"{PYTHON}/lib-dynload/*.so"):
        for library in libraries_of(module):
            archive.copy(library)
    archive.close()


def write_job(path, root, build, script, stripped):
    """tephra, its test programs, the live tests and what to do with them. `stripped`: a folder for stripped copies."""
    archive = Archive(path)
    for name in ("tephra", "tephra_tests"):
        small = os.path.join(stripped, name)
        subprocess.run(["strip", "--strip-debug", "-o", small, os.path.join(build, name)], check=True)
        archive.program(small, f"job/build/{name}")
    programs = os.path.join(build, "programs")
    for name in sorted(os.listdir(programs)):
        if os.path.isfile(os.path.join(programs, name)):
            archive.program(os.path.join(programs, name), f"job/build/programs/{name}")
    archive.tree(os.path.join(root, "tests", "live"), "job/tests/live")
    archive.copy(os.path.join(root, "tests", "vm", "in_guest.py"), "job/in_guest.py")
    archive.text("job/run", script)
    archive.close()
