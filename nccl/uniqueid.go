package nccl

// UniqueID lets ranks into a communicator in the making. It is a secret.
type UniqueID [128]byte
