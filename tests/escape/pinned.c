/* Pages of a process that a pipe or a socket holds although the process has them no more. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define HUGE (2u << 20)
#define PIECES 12 /* fewer than a pipe has slots */

/* Connected to itself by loopback, with nobody who reads. */
static int own_socket(void)
{
    const int one = 1;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    int listening = socket(AF_INET, SOCK_STREAM, 0);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listening, (struct sockaddr *)&at, size) < 0 || listen(listening, 1) < 0 ||
        getsockname(listening, (struct sockaddr *)&at, &size) < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_ZEROCOPY, &one, sizeof one) < 0 ||
        connect(fd, (struct sockaddr *)&at, size) < 0)
        return -1;
    return fd;
}

/* The same with pages of a file, which is gone afterwards. */
static ssize_t give_file(int to, const char *page, int sent)
{
    off_t at = HUGE / 2;
    int fd = open("pinned", O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (write(fd, page, HUGE) != HUGE)
        return -1;
    const ssize_t n = sent ? sendfile(to, fd, &at, 4096) : splice(fd, &at, to, NULL, 4096, 0);
    unlink("pinned");
    return ftruncate(fd, 0) < 0 || close(fd) < 0 ? -1 : n;
}

int main(int argc, char **argv)
{
    const int is_sent = argc > 1 && strcmp(argv[1], "sent") == 0;
    const int is_file = is_sent || (argc > 1 && strcmp(argv[1], "file") == 0);
    const int is_socket = argc > 1 && strcmp(argv[1], "socket") == 0;
    int fds[2] = {-1, -1};
    if (is_socket)
        fds[1] = own_socket();
    else if (pipe(fds) < 0)
        return 3;
    for (int i = 0; i < PIECES; i++) {
        char *room = mmap(NULL, 2 * HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        char *page = (char *)(((uintptr_t)room + HUGE - 1) & ~(uintptr_t)(HUGE - 1));
        if (room == MAP_FAILED)
            return 3;
        madvise(page, HUGE, MADV_HUGEPAGE);
        memset(page, 7, HUGE);
        const struct iovec one = {page, 4096};
        const ssize_t sent = is_file     ? give_file(fds[1], page, is_sent)
                             : is_socket ? send(fds[1], page, 4096, MSG_ZEROCOPY)
                                         : vmsplice(fds[1], &one, 1, 0);
        munmap(room, 2 * HUGE);
        if (sent != 4096) {
            puts("refused");
            return 0;
        }
    }
    puts("has it all");
    return 0;
}
