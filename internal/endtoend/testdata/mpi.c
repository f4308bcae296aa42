/* What an MPI program may do, by its argument. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* In MPI_Finalize, MPICH before its change 6596 waits until UCX has taken leave of
 * each peer, and then for all at PMI's barrier, where it lets UCX do nothing. A
 * peer that is there already may owe an answer: over UCX's TCP, many runs hang,
 * whoever starts them. So UCX takes leave when its worker is destroyed, which
 * follows the barrier. The definition is libmpich's before that of libucp is. */
void *ucp_disconnect_nb(void *endpoint) {
	(void)endpoint;
	return NULL; /* UCS_OK */
}

static int is(const char *a, const char *b) { return strcmp(a, b) == 0; }

/* Sums up from one byte to 4 MiB, each place of its own value. */
static void reduce(int rank, int size) {
	static unsigned char own[4 << 20], sum[4 << 20];
	int wrong = 0;
	for (int i = 0; i < sizeof own; i++)
		own[i] = i % 13 + rank;
	for (int n = 1; n <= sizeof own; n *= 4) {
		memset(sum, 0, n);
		MPI_Allreduce(own, sum, n, MPI_UNSIGNED_CHAR, MPI_SUM, MPI_COMM_WORLD);
		for (int i = 0; i < n; i++)
			wrong += sum[i] != i % 13 * size + size * (size - 1) / 2;
	}
	printf("%d wrong\n", wrong);
}

int main(int argc, char **argv) {
	const char *what = argv[1];
	int before = atoi(getenv("GORUN_RANK"));
	if (is(what, "leave before init") && before == 1)
		return 0;
	MPI_Init(&argc, &argv);
	int rank, size, sum, *program, known;
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (is(what, "meet")) {
		MPI_Comm host;
		int onHost;
		MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
		MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
		MPI_Comm_size(host, &onHost);
		MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &program, &known);
		printf("%d of %d, sum %d, %d on host, program %d\n", rank, size, sum, onHost, known ? *program : -1);
	}
	if (is(what, "reduce"))
		reduce(rank, size);
	if (is(what, "abort") || is(what, "die") || is(what, "leave before finalize")) {
		MPI_Barrier(MPI_COMM_WORLD); /* so that all are through MPI_Init */
		if (rank < size - 1)
			sleep(60);
		if (is(what, "abort"))
			MPI_Abort(MPI_COMM_WORLD, 42);
		if (is(what, "die"))
			raise(SIGKILL);
		_exit(0);
	}
	MPI_Finalize();
	return 0;
}
