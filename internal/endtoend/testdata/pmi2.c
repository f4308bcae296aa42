/* A client of Slurm's libpmi2: every rank puts a value with semicolons in it, and
 * gets those of all. */
#include <slurm/pmi2.h>
#include <stdio.h>
#include <string.h>

static int failed(const char *call) {
	fprintf(stderr, "%s failed\n", call);
	return 1;
}

int main(void) {
	int spawned, size, rank, app, length, found;
	char key[PMI2_MAX_KEYLEN], value[PMI2_MAX_VALLEN], want[PMI2_MAX_VALLEN];
	if (PMI2_Init(&spawned, &size, &rank, &app) != PMI2_SUCCESS)
		return failed("PMI2_Init");
	snprintf(key, sizeof key, "key%d", rank);
	snprintf(value, sizeof value, "a=b;c=%d;;", rank);
	if (PMI2_KVS_Put(key, value) != PMI2_SUCCESS || PMI2_KVS_Fence() != PMI2_SUCCESS)
		return failed("PMI2_KVS_Put");
	for (int other = 0; other < size; other++) {
		snprintf(key, sizeof key, "key%d", other);
		snprintf(want, sizeof want, "a=b;c=%d;;", other);
		if (PMI2_KVS_Get(NULL, PMI2_ID_NULL, key, value, sizeof value, &length) != PMI2_SUCCESS || strcmp(value, want))
			return failed("PMI2_KVS_Get");
	}
	if (PMI2_Info_GetJobAttr("PMI_process_mapping", value, sizeof value, &found) != PMI2_SUCCESS || !found)
		return failed("PMI2_Info_GetJobAttr");
	printf("%d of %d, %s\n", rank, size, value);
	return PMI2_Finalize() == PMI2_SUCCESS ? 0 : failed("PMI2_Finalize");
}
