// Package endtoend has no code, only tests of the whole: the gorun that ships,
// on hosts of their own with real sshd, running the examples and programs of
// others. They need root and GORUN_TEST_FULL=1; package cluster says what else.
package endtoend
