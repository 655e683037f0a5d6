// Package cluster runs some nodes that share a log of commits, with stores on disks in memory, inside a testing/synctest bubble: they are killed,
// frozen, cut off and told to end while clients publish, push, read and follow, and the log loses and repeats requests. All of it is tests. All that
// nodes show at one position is the same, at any moment.
package cluster
