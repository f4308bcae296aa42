/* The least that starting N processes can cost: fork, exec, wait.
   usage: forkloop N program */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int n = argc == 3 ? atoi(argv[1]) : 0, failed = n < 1, status;

	for (int i = 0; i < n; i++) {
		pid_t pid = fork();
		if (pid == 0) {
			execlp(argv[2], argv[2], (char *)0);
			_exit(127);
		}
		if (pid < 0)
			failed = 1;
	}
	while (wait(&status) > 0)
		if (status != 0)
			failed = 1;
	return failed;
}
