"""A place without any of the files that ran, and small worlds of files to run programs in."""

import os
import re
import shutil

from support import TEPHRA, run


def libraries_of(path):
    """The files that a program loads, and its loader."""
    listed = run(["ldd", path])
    if listed.returncode != 0:
        return []
    return re.findall(r"(/\S+) \(0x", listed.stdout)


def make_world(folder, programs):
    """A root folder that holds nothing but `programs` ({path inside: file here}) and what they load."""
    for inside, file in programs.items():
        place = folder + inside
        os.makedirs(os.path.dirname(place), exist_ok=True)
        shutil.copy(file, place)
        for library in libraries_of(file):
            os.makedirs(os.path.dirname(folder + library), exist_ok=True)
            shutil.copy(library, folder + library)
    for name in ("proc", "tmp", "dev"):
        os.makedirs(os.path.join(folder, name), exist_ok=True)
    return folder


class Elsewhere:
    """Runs tephra where neither the files that ran nor /proc are: its own libraries are in a folder of their own."""

    def __init__(self, folder):
        self.root = folder
        os.makedirs(folder + "/reader/lib")
        shutil.copy(TEPHRA, folder + "/reader/tephra")
        for library in libraries_of(TEPHRA):
            shutil.copy(library, folder + "/reader/lib/" + os.path.basename(library))
        self.loader = next(name for name in os.listdir(folder + "/reader/lib") if name.startswith("ld-linux"))

    def tephra(self, data, command, *words):
        """The output of a command on the recording `data`."""
        shutil.copy(data, self.root + "/reader/recording.data")
        environment = {"TEPHRA_NO_CACHE": "1", "PATH": "/nowhere"}
        return run([shutil.which("chroot") or "/usr/sbin/chroot", self.root, "/reader/lib/" + self.loader, "--library-path", "/reader/lib",
                    "/reader/tephra", command, *words, "/reader/recording.data"], env=environment)
