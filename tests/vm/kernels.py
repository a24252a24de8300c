"""Debian's stock kernels, fetched with apt without touching the machine's own package lists."""

import glob
import os
import re
import shutil
import subprocess

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
# What is booted: a name, the suite that has it, and the package that depends on the newest one.
KERNELS = {"6.1": ("bookworm", "linux-image-cloud-amd64"),
           "6.12": ("bookworm-backports", "linux-image-cloud-amd64")}


class Unavailable(Exception):
    """Why a kernel cannot be had here."""


def run(command, **settings):
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, **settings)
    if done.returncode != 0:
        raise Unavailable(f"{command[0]}: {(done.stderr or done.stdout).strip()[-300:]}")
    return done.stdout


def archive_in(targets):
    """The site of Debian's main archive; `targets`: lines of release, origin and site, as apt knows them."""
    sites = [site for release, origin, site in (line.split("\t") for line in targets.splitlines())
             # Updates and security fixes come under longer names, and may be elsewhere.
             if origin == "Debian" and re.fullmatch(r"[a-z]+", release)]
    if not sites:
        raise Unavailable("apt knows no archive of Debian here ('apt-get update' makes its lists)")
    return sites[0]


def archive():
    """Where this machine's own packages come from."""
    return archive_in(run(["apt-get", "indextargets", "--format", "$(RELEASE)\t$(ORIGIN)\t$(SITE)"]))


class Apt:
    """apt with lists and cache of its own, for one suite."""

    def __init__(self, folder, site, suite):
        self.folder = folder
        sources = os.path.join(folder, "suite.sources")
        for name in ("lists/partial", "cache/archives/partial"):
            os.makedirs(os.path.join(folder, name), exist_ok=True)
        with open(sources, "w") as file:
            file.write(f"Types: deb\nURIs: {site}\nSuites: {suite}\nComponents: main\nSigned-By: {KEYRING}\n")
        self.options = [word for setting in (
            f"Dir::Etc::sourcelist={sources}", "Dir::Etc::sourceparts=-", f"Dir::State::lists={folder}/lists",
            f"Dir::Cache={folder}/cache", "APT::Sandbox::User=root") for word in ("-o", setting)]

    def update(self):
        run(["apt-get", *self.options, "update", "-qq"])

    def newest_of(self, package):
        text = run(["apt-cache", *self.options, "depends", package])
        match = re.search(r"Depends: (linux-image-[0-9]\S*)", text)
        if not match:
            raise Unavailable(f"{package} names no kernel")
        return match[1]

    def download(self, package):
        run(["apt-get", *self.options, "download", package], cwd=self.folder)
        return max(glob.glob(os.path.join(self.folder, "linux-image-*.deb")), key=os.path.getmtime)


def kernel_image(name, cache):
    """The path of a kernel's image, fetched if need be into `cache`."""
    folder = os.path.join(cache, "kernel-" + name)
    found = glob.glob(os.path.join(folder, "vmlinuz-*"))
    if found:
        return found[0]
    if shutil.which("apt-get") is None or not os.path.exists(KEYRING):
        raise Unavailable("kernels are fetched from Debian with apt")
    suite, package = KERNELS[name]
    apt = Apt(os.path.join(folder, "apt"), archive(), suite)
    apt.update()
    package_file = apt.download(apt.newest_of(package))
    content = os.path.join(folder, "content")
    run(["dpkg-deb", "-x", package_file, content])
    image = glob.glob(os.path.join(content, "boot", "vmlinuz-*"))[0]
    kept = os.path.join(folder, os.path.basename(image))
    os.rename(image, kept)
    shutil.rmtree(content)
    shutil.rmtree(apt.folder)
    return kept
