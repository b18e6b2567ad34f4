/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Prepares the terminal for top and restores it: the alternate screen without a cursor, and single
 * keys without echo. Called by top-run.c. ^C stays a signal. ^Z is switched off, because a stopped
 * top would leave the terminal in this state. */

#include "top/top-terminal.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define ENTER "\033[?1049h\033[?25l"
#define LEAVE "\033[?25h\033[?1049l"

bool top_terminal_is_usable(void) {
        const char *type = getenv("TERM");

        return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && type && strcmp(type, "dumb") != 0;
}

int top_terminal_enter(TopTerminal *terminal) {
        struct termios keys;

        if (tcgetattr(STDIN_FILENO, &terminal->before) < 0)
                return -errno;
        keys = terminal->before;
        keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        keys.c_cc[VSUSP] = _POSIX_VDISABLE;
        keys.c_cc[VMIN] = 1;
        keys.c_cc[VTIME] = 0;
        if (tcsetattr(STDIN_FILENO, TCSADRAIN, &keys) < 0)
                return -errno;
        terminal->is_entered = true;
        return top_terminal_write(ENTER, sizeof(ENTER) - 1);
}

void top_terminal_leave(TopTerminal *terminal) {
        if (!terminal->is_entered)
                return;
        terminal->is_entered = false;
        (void)top_terminal_write(LEAVE, sizeof(LEAVE) - 1);
        (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &terminal->before);
}

void top_terminal_get_size(unsigned *ret_width, unsigned *ret_height) {
        struct winsize size;

        *ret_width = 80;
        *ret_height = 24;
        if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col == 0 || size.ws_row == 0)
                return;
        *ret_width = size.ws_col;
        *ret_height = size.ws_row;
}

bool top_terminal_is_writable(void) {
        struct pollfd out = { .fd = STDOUT_FILENO, .events = POLLOUT };

        return poll(&out, 1, 0) > 0;
}

int top_terminal_write(const char *data, size_t size) {
        while (size > 0) {
                ssize_t n = write(STDOUT_FILENO, data, size);

                if (n < 0 && errno != EINTR)
                        return -errno;
                if (n > 0) {
                        data += n;
                        size -= (size_t)n;
                }
        }
        return 0;
}
