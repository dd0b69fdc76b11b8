"""A file system that hangs while a file of that name is there: one folder, read only, by the kernel's own protocol (linux/fuse.h).

Arguments: the folder that it shows, where it is mounted, the file that makes it hang.
"""

import ctypes
import errno
import os
import struct
import sys
import time

shown, mounted, hang = sys.argv[1:]
LOOKUP, FORGET, GETATTR, OPEN, READ, RELEASE, FLUSH, INIT = 1, 2, 3, 14, 15, 18, 25, 26
INTERRUPT, BATCH_FORGET = 36, 42
DIRECT_IO = 1

device = os.open("/dev/fuse", os.O_RDWR)
libc = ctypes.CDLL(None, use_errno=True)
options = f"fd={device},rootmode=40755,user_id=0,group_id=0,allow_other".encode()
if libc.mount(b"hanging", mounted.encode(), b"fuse", 0, options) != 0:
    sys.exit(f"mount: {os.strerror(ctypes.get_errno())}")

names = [shown]


def attributes(path):
    found = os.stat(path)
    return struct.pack(
        "<QQQQQQIIIIIIIIII",
        found.st_ino, found.st_size, 8, int(found.st_atime), int(found.st_mtime), int(found.st_ctime),
        0, found.st_mtime_ns % 10**9, 0, found.st_mode, 1, 0, 0, 0, 4096, 0,
    )  # fmt: skip


def answer(operation, node, body):
    path = names[node - 1]
    if operation == INIT:
        return struct.pack("<IIIIHHIIHHI28x", 7, 31, 65536, 0, 12, 10, 4096, 1, 1, 0, 0)
    if operation == LOOKUP:
        path = os.path.join(path, body.rstrip(b"\0").decode())
        entry = attributes(path)
        if path not in names:
            names.append(path)
        # Nothing may be kept: each look asks again.
        return struct.pack("<QQQQII", names.index(path) + 1, 0, 0, 0, 0, 0) + entry
    if operation == GETATTR:
        return struct.pack("<QII", 0, 0, 0) + attributes(path)
    if operation == OPEN:
        return struct.pack("<QII", 0, DIRECT_IO, 0)
    if operation == READ:
        _, offset, size = struct.unpack_from("<QQI", body)
        with open(path, "rb") as file:
            file.seek(offset)
            return file.read(size)
    if operation in (RELEASE, FLUSH):
        return b""
    raise OSError(errno.ENOSYS, "not needed")


while True:
    try:
        request = os.read(device, 1 << 20)
    except OSError:
        break
    length, operation, unique, node = struct.unpack_from("<IIQQ", request)
    if operation in (FORGET, BATCH_FORGET, INTERRUPT):
        continue
    while operation != INIT and os.path.exists(hang):
        time.sleep(0.05)
    failure, body = 0, b""
    try:
        body = answer(operation, node, request[40:length])
    except OSError as error:
        failure = -error.errno
    try:
        os.write(device, struct.pack("<IiQ", 16 + len(body), failure, unique) + body)
    except OSError:
        # Whoever asked has given up.
        pass
