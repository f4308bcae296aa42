// Package sshserver gives tests SSH servers to log in to.
//
// [Start] runs one in this process, on a loopback address and without special
// rights: it runs commands in a real shell, each server with a home of its
// own, and it misbehaves on demand ([Faults]). [OpenSSH] starts the sshd of
// this machine. Both give what a client needs: a key that is let in, a
// known_hosts file, an ssh_config file, a line for a hostfile.
//
// The servers do to processes what OpenSSH does: when a connection ends, a
// command's standard input ends, and nothing is killed. What commands leave
// behind is killed when the test ends.
package sshserver
