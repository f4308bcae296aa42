// Package pmi serves PMI-1 and PMI-2, by which programs of MPICH, and those
// linked with Slurm's libpmi2, learn their place and meet.
package pmi
