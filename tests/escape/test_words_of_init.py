"""/proc/1/cmdline is readable by everybody inside, from the first moment on."""
from support import inside


def test_command_line_of_init_is_empty():
    """The name of the program, too: it is a path of the host's."""
    assert inside("say(open('/proc/1/cmdline').read().strip(chr(0)))").answer.find("/") < 0
