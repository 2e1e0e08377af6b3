/*
 * What of /etc `system_ro` shows: the few files that toolchains cannot do without, never the whole
 * directory (it holds secrets, and other people's configuration). Each is bound read-only if the
 * host has it; several are symbolic links on some hosts and are followed.
 * The clock inside is in UTC: /etc/localtime says where the host is and is not shown. /etc/passwd and
 * /etc/group are made up for each run and name nobody but the user inside.
 */
#pragma once

#include <stdbool.h>

struct system_file {
    const char *path;
    bool network; /* only where the policy gives the host's network */
    const char *why;
};

static const struct system_file system_files[] = {
    {"/etc/ld.so.cache", false, "where the loader finds libraries outside its default places"},
    {"/etc/alternatives", false, "cc, c++, java, awk and others in /usr/bin are links to here"},
    {"/etc/java-11-openjdk", false, "java's own conf directory is a link to here"},
    {"/etc/java-17-openjdk", false, "the same"},
    {"/etc/java-21-openjdk", false, "the same"},
    {"/etc/resolv.conf", true, "which name server to ask"},
    {"/etc/hosts", true, "names that need no server"},
    {"/etc/nsswitch.conf", true, "the order of the two"},
    {"/etc/ssl/certs", true, "whom to trust in TLS"},
    {"/etc/ssl/openssl.cnf", true, "openssl's library reads it when it starts; no secrets"},
};
#define SYSTEM_FILE_COUNT (sizeof system_files / sizeof system_files[0])
