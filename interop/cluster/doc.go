// Package cluster tests what several nodes share against a real S3 server, versitygw, also behind a proxy that loses, delays, cuts and repeats
// requests. make cluster runs it.
package cluster
