/* Ways of a program that is no script to write outside of what is its own; test_guard.py. */
#include <dlfcn.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;

static int drop(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    return remove(path);
}

static int database(void)
{
    void *library = dlopen("libsqlite3.so.0", RTLD_NOW), *db;
    int (*open_db)(const char *, void **) = (int (*)(const char *, void **))dlsym(library, "sqlite3_open");
    int (*exec)(void *, const char *, void *, void *, void *) =
        (int (*)(void *, const char *, void *, void *, void *))dlsym(library, "sqlite3_exec");
    return open_db("new.db", &db) == 0 ? exec(db, "create table a(b)", NULL, NULL, NULL) : -1;
}

static int child(void)
{
    char *argv[] = {"sh", "-c", "echo x > config.toml", NULL};
    pid_t pid;
    int status = 0;
    return posix_spawnp(&pid, "sh", NULL, NULL, argv, environ) == 0 && waitpid(pid, &status, 0) > 0 ? -status : -1;
}

static int swapped(void)
{
    int fd, status, done = -1;
    close(open("tests/safe", O_CREAT | O_WRONLY, 0600));
    pid_t pid = fork();
    for (int i = 0; pid == 0 && i < 3000; i++) {
        if (symlink(i % 2 ? "safe" : "../config.toml", "tests/new") == 0)
            rename("tests/new", "tests/link");
    }
    if (pid == 0)
        _exit(0);
    while (waitpid(pid, &status, WNOHANG) == 0) {
        if ((fd = open("tests/link", O_WRONLY | O_TRUNC)) >= 0)
            done = close(fd);
    }
    return done;
}

int main(int argc, char **argv)
{
    struct timespec t[2] = {{5, 0}, {5, 0}};
    char path[4096] = "/dev/..";
    const char *way = argv[argc - 1];
    int r = -1;
    if (strcmp(way, "open") == 0)
        r = open("config.toml", O_WRONLY | O_TRUNC) < 0 ? -1 : 0;
    if (strcmp(way, "rename") == 0)
        r = rename("config.toml", "gone");
    if (strcmp(way, "unlink") == 0 && vfork() == 0)
        _exit(unlink("config.toml") != 0);
    if (strcmp(way, "unlink") == 0)
        r = wait(&r) > 0 ? -r : -1;
    if (strcmp(way, "truncate") == 0)
        r = truncate("config.toml", 0);
    if (strcmp(way, "mkdir") == 0)
        r = mkdir("made", 0755);
    if (strcmp(way, "rmtree") == 0)
        r = nftw("data", drop, 8, FTW_DEPTH | FTW_PHYS);
    if (strcmp(way, "sqlite3") == 0)
        r = database();
    if (strcmp(way, "child") == 0)
        r = child();
    if (strcmp(way, "dev prefix") == 0)
        r = getcwd(path + 7, 4000) && open(strcat(path, "/config.toml"), O_WRONLY | O_TRUNC) >= 0 ? 0 : -1;
    if (strcmp(way, "swapped link") == 0)
        r = swapped();
    if (strcmp(way, "chmod") == 0)
        r = chmod("config.toml", 0777);
    if (strcmp(way, "utimes") == 0)
        r = utimensat(AT_FDCWD, "config.toml", t, 0);
    puts(r == 0 ? "done" : "refused");
    return 0;
}
