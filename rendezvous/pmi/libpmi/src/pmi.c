/*
 * A client of PMI-1 for MPI libraries that open one at run time, with the
 * functions of the classic pmi.h that Open MPI 4 calls. It asks the agent over
 * the descriptor of PMI_FD or the port of PMI_PORT, a line for a line.
 *
 * No header is included, and no library linked: its few functions of libc are
 * the process's own, so that it suits every libc, of any age. It is called from
 * one thread at a time.
 */

#define PUBLIC __attribute__((visibility("default")))

enum { SUCCESS = 0, FAIL = -1 };

/* Linux's, alike on amd64 and arm64. */
enum { AF_INET = 2, SOCK_STREAM = 1, SOCK_CLOEXEC = 02000000, MSG_NOSIGNAL = 0x4000, EINTR = 4 };

struct sockaddr_in {
	unsigned short family;
	unsigned char port[2], addr[4], zero[8];
};

extern char *getenv(const char *);
extern int socket(int, int, int);
extern int connect(int, const void *, unsigned);
extern long send(int, const void *, unsigned long, int);
extern long recv(int, void *, unsigned long, int);
extern int close(int);
extern void _exit(int) __attribute__((noreturn));
extern int *__errno_location(void);

static int fd = -1, owned; /* owned: closed at finalize; what was inherited may serve another program */
static int rank, size, universe, app;
static int max_name, max_key, max_value;
static char space[257]; /* name of the key space */

/* Text */

/* after returns what follows prefix in s, 0 if s does not begin with it. */
static const char *after(const char *s, const char *prefix)
{
	for (; *prefix; s++, prefix++)
		if (*s != *prefix)
			return 0;
	return s;
}

/* number reads a number at *s and moves it behind; FAIL if there is none. */
static int number(const char **s)
{
	int n = 0;
	const char *begin = *s;
	for (; **s >= '0' && **s <= '9' && n < 100000000; (*s)++)
		n = 10 * n + **s - '0';
	return *s == begin ? FAIL : n;
}

static int number_of(const char *s) { return s ? number(&s) : FAIL; }

/* copy puts s, as far as its end or stop, into a buffer. */
static int copy(char *to, int room, const char *s, char stop)
{
	int n = 0;
	for (; s[n] && s[n] != stop; n++) {
		if (n + 1 >= room)
			return FAIL;
		to[n] = s[n];
	}
	if (room < 1)
		return FAIL;
	to[n] = 0;
	return SUCCESS;
}

/* Lines */

static char request[4096]; /* without its newline */
static unsigned asked;     /* of it; beyond the end: it does not fit */
static char answer[4096];  /* a line, its newline made 0, then what has come behind it */
static unsigned taken, come;

static void add(const char *s)
{
	for (; *s; s++, asked++)
		if (asked < sizeof request - 1)
			request[asked] = *s;
}

static void begin(const char *command)
{
	asked = 0;
	add("cmd=");
	add(command);
}

static void with(const char *key, const char *value)
{
	add(" ");
	add(key);
	add("=");
	add(value);
}

static int tell(void)
{
	unsigned sent = 0;
	if (asked >= sizeof request - 1)
		return FAIL;
	request[asked++] = '\n';
	while (sent < asked) {
		long n = send(fd, request + sent, asked - sent, MSG_NOSIGNAL);
		if (n > 0)
			sent += n;
		else if (n == 0 || *__errno_location() != EINTR)
			return FAIL;
	}
	return SUCCESS;
}

/* hear waits for the next line, which must be of a command. */
static int hear(const char *command)
{
	unsigned i, scanned = 0;
	for (i = taken; i < come; i++)
		answer[i - taken] = answer[i];
	come -= taken;
	for (;;) {
		for (; scanned < come; scanned++)
			if (answer[scanned] == '\n') {
				answer[scanned] = 0;
				taken = scanned + 1;
				const char *s = after(answer, "cmd=");
				s = s ? after(s, command) : 0;
				return s && (*s == 0 || *s == ' ') ? SUCCESS : FAIL;
			}
		taken = 0;
		if (come == sizeof answer)
			return FAIL;
		long n = recv(fd, answer + come, sizeof answer - come, 0);
		if (n > 0)
			come += n;
		else if (n == 0 || *__errno_location() != EINTR)
			return FAIL;
	}
}

static int ask(const char *command) { return tell() == SUCCESS ? hear(command) : FAIL; }

/* field returns what follows " key=" in the answer, 0 if nothing does. */
static const char *field(const char *key)
{
	const char *s, *value;
	for (s = answer; *s; s++)
		if (*s == ' ' && (value = after(s + 1, key)) && *value == '=')
			return value + 1;
	return 0;
}

static int refused(void) { return number_of(field("rc")) != 0; }

/* Who shares the host */

/* PMI_process_mapping is "(vector,(first,nodes,ranks),…)": each triple puts so
 * many ranks on each of so many nodes. If ranks are left, it begins again. */
static struct block { int first, nodes, ranks; } blocks[128];
static int count, together; /* blocks, and the ranks of them all; 0: not known */

static int parse_mapping(const char *s)
{
	count = together = 0;
	if (!(s = after(s, "(vector")))
		return FAIL;
	while ((s = after(s, ",("))) {
		struct block *b = blocks + count;
		if (count == sizeof blocks / sizeof *blocks ||
		    (b->first = number(&s)) < 0 || *s++ != ',' ||
		    (b->nodes = number(&s)) < 1 || *s++ != ',' ||
		    (b->ranks = number(&s)) < 1 || *s++ != ')' ||
		    (long)b->nodes * b->ranks > 100000000L - together)
			break;
		together += b->nodes * b->ranks;
		count++;
		if (*s == ')')
			return SUCCESS;
	}
	count = together = 0;
	return FAIL;
}

static int node_of(int r)
{
	int i;
	r %= together;
	for (i = 0; r >= blocks[i].nodes * blocks[i].ranks; i++)
		r -= blocks[i].nodes * blocks[i].ranks;
	return blocks[i].first + r / blocks[i].ranks;
}

/* clique finds the ranks of this host, of which it stores the first room. Where
 * the mapping is not known, each is alone: slower, and never wrong. */
static int clique(int *ranks, int room)
{
	int r, n = 0, node = together ? node_of(rank) : 0;
	for (r = 0; r < size; r++)
		if (together ? node_of(r) == node : r == rank) {
			if (n < room)
				ranks[n] = r;
			n++;
		}
	return n;
}

/* Coming and going */

/* call connects to PMI_PORT, 127.0.0.1:port, and says who calls. */
static int call(const char *where)
{
	struct sockaddr_in to = {.family = AF_INET, .addr = {127, 0, 0, 1}};
	const char *id = getenv("PMI_ID");
	int port = number_of(where ? after(where, "127.0.0.1:") : 0);
	if (!id || port < 1 || port > 65535)
		return FAIL;
	to.port[0] = port >> 8;
	to.port[1] = port;
	if ((fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) < 0)
		return FAIL;
	owned = 1;
	while (connect(fd, &to, sizeof to) < 0)
		if (*__errno_location() != EINTR)
			return FAIL;
	begin("initack");
	with("pmiid", id);
	if (ask("initack") != SUCCESS || hear("set") != SUCCESS)
		return FAIL;
	size = number_of(field("size"));
	if (hear("set") != SUCCESS)
		return FAIL;
	rank = number_of(field("rank"));
	return hear("set"); /* debug */
}

static void hang_up(void)
{
	if (owned)
		close(fd);
	fd = -1;
	owned = taken = come = 0;
}

static int enter(void)
{
	const char *value;
	if (getenv("PMI_FD")) {
		fd = number_of(getenv("PMI_FD"));
		rank = number_of(getenv("PMI_RANK"));
		size = number_of(getenv("PMI_SIZE"));
	} else if (call(getenv("PMI_PORT")) != SUCCESS)
		return FAIL;
	if (fd < 0 || rank < 0 || rank >= size)
		return FAIL;
	begin("init");
	with("pmi_version", "1");
	with("pmi_subversion", "1");
	if (ask("response_to_init") != SUCCESS || refused())
		return FAIL;
	begin("get_maxes");
	if (ask("maxes") != SUCCESS)
		return FAIL;
	max_name = number_of(field("kvsname_max"));
	max_key = number_of(field("keylen_max"));
	max_value = number_of(field("vallen_max"));
	begin("get_universe_size");
	if (ask("universe_size") != SUCCESS)
		return FAIL;
	universe = number_of(field("size"));
	begin("get_appnum");
	if (ask("appnum") != SUCCESS)
		return FAIL;
	app = number_of(field("appnum"));
	begin("get_my_kvsname");
	if (ask("my_kvsname") != SUCCESS || !(value = field("kvsname")) || copy(space, sizeof space, value, ' ') != SUCCESS)
		return FAIL;
	begin("get");
	with("kvsname", space);
	with("key", "PMI_process_mapping");
	if (ask("get_result") != SUCCESS)
		return FAIL;
	if (!refused() && (value = field("value")))
		parse_mapping(value);
	return SUCCESS;
}

PUBLIC int PMI_Init(int *spawned)
{
	*spawned = 0;
	if (fd >= 0)
		return SUCCESS;
	if (enter() == SUCCESS)
		return SUCCESS;
	hang_up();
	return FAIL;
}

PUBLIC int PMI_Initialized(int *initialized)
{
	*initialized = fd >= 0;
	return SUCCESS;
}

PUBLIC int PMI_Finalize(void)
{
	int status;
	begin("finalize");
	status = ask("finalize_ack");
	hang_up();
	return status;
}

PUBLIC int PMI_Abort(int status, const char *message)
{
	char digits[12];
	int n = sizeof digits;
	unsigned rest = status < 0 ? -(unsigned)status : (unsigned)status;
	(void)message; /* who aborts has printed it */
	digits[--n] = 0;
	do
		digits[--n] = '0' + rest % 10;
	while (rest /= 10);
	if (status < 0)
		digits[--n] = '-';
	begin("abort");
	with("exitcode", digits + n);
	tell();
	_exit(status);
}

/* What is known since init */

static int give(int *to, int value)
{
	*to = value;
	return fd >= 0 && value >= 0 ? SUCCESS : FAIL;
}

PUBLIC int PMI_Get_size(int *to) { return give(to, size); }
PUBLIC int PMI_Get_rank(int *to) { return give(to, rank); }
PUBLIC int PMI_Get_universe_size(int *to) { return give(to, universe); }
PUBLIC int PMI_Get_appnum(int *to) { return give(to, app); }
PUBLIC int PMI_Get_clique_size(int *to) { return give(to, clique(0, 0)); }
PUBLIC int PMI_Get_clique_ranks(int *to, int room) { return clique(to, room) <= room ? SUCCESS : FAIL; }
PUBLIC int PMI_KVS_Get_name_length_max(int *to) { return give(to, max_name); }
PUBLIC int PMI_KVS_Get_key_length_max(int *to) { return give(to, max_key); }
PUBLIC int PMI_KVS_Get_value_length_max(int *to) { return give(to, max_value); }
PUBLIC int PMI_KVS_Get_my_name(char *to, int room) { return copy(to, room, space, 0); }

/* Values */

PUBLIC int PMI_KVS_Put(const char *name, const char *key, const char *value)
{
	begin("put");
	with("kvsname", name);
	with("key", key);
	with("value", value);
	return ask("put_result") == SUCCESS && !refused() ? SUCCESS : FAIL;
}

/* A put is on its way already. */
PUBLIC int PMI_KVS_Commit(const char *name)
{
	(void)name;
	return SUCCESS;
}

PUBLIC int PMI_Barrier(void)
{
	begin("barrier_in");
	return ask("barrier_out");
}

PUBLIC int PMI_KVS_Get(const char *name, const char *key, char *value, int room)
{
	const char *found;
	begin("get");
	with("kvsname", name);
	with("key", key);
	if (ask("get_result") != SUCCESS || refused() || !(found = field("value")))
		return FAIL;
	return copy(value, room, found, 0);
}
