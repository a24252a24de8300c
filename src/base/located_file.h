#pragma once

#include <string>

#include "base/file.h"

namespace tephra::base {

// Opening files whose paths others choose. Merely opening a device can do something, and a FIFO can hold us, so what is
// at a path is looked at first, by a handle (O_PATH) that does not open it; and then that very file is opened, whatever
// the path leads to by then.

enum class LastLink { kFollow, kRefuse };  // what to do if the last part of a path is a symbolic link

// A handle on whatever is at a path.
FileDescriptor locate(const std::string& path, LastLink last = LastLink::kFollow);
// The same as a process sees it whose root folder is `root`: links lead nowhere else. Where the kernel cannot do that
// (before 5.6), links to absolute paths are followed from our own root.
FileDescriptor locate_below(int root, const std::string& path, LastLink last = LastLink::kFollow);

// Opens for reading what a handle is on, if that is a regular file. That needs /proc.
FileDescriptor open_located(const FileDescriptor& handle);
// The same also where there is no /proc, as in a bare chroot: then by the path that the handle was made with, and only
// if that still leads to the same file (else ESTALE).
FileDescriptor open_located(const FileDescriptor& handle, const std::string& path);

}  // namespace tephra::base
