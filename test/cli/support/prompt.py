"""
Types at the prompt of a shell, which gets a terminal of its own. From standard input, as JSON: the shell's words, and steps
[text, file]: text is typed, and the next step begins when the shell has made the file.
"""

import json, os, pty, select, signal, sys, time

asked = json.load(sys.stdin)
child, terminal = pty.fork()
if child == 0:
    os.execvp(asked["shell"][0], asked["shell"])
screen = b""
try:
    for text, file in asked["steps"]:
        os.write(terminal, text.encode())
        end = time.monotonic() + asked["mostSeconds"]
        while not os.path.exists(file):
            if time.monotonic() > end:
                sys.exit(f"no {file} after {text!r}: {screen[-2000:]!r}")
            if select.select([terminal], [], [], 0.02)[0]:
                screen += os.read(terminal, 65536)
finally:
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
