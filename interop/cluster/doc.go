// Package cluster tests what several nodes share against a real S3 server, versitygw, also behind a proxy that loses, delays, cuts and repeats
// requests: one machine that loses its disk, and three that come to all kinds of harm while people use them. make cluster runs it.
package cluster
