// Package base has nothing of its own: below it are parts that any program could use. They know nothing of Nostr and nothing of git: what
// they are given is text, bytes, times and names of parties.
//
// Read fair first, which shares what is bounded among those who want it, and backoff, which says when something is tried again.
//
// What is here never knows an event, a relay or a repository, and never decides what graspd keeps.
//
// The packages:
//
//   - backoff: how connecting to a server goes: failures, waits, uptime
//   - bucket: how much at once, and how fast it may go on; who has used much of something lately
//   - contain: faults that end one client or one relay, and not the process
//   - fair: bounded things shared fairly: who has how much, who gives way, who waits; turns of parties
//   - fifo: a queue whose memory follows its length
//   - frames: how many frames are in the bytes of a WebSocket
//   - histogram: how long pieces of work took, in classes
//   - lru: what was asked for last, within a bound of its cost
//   - objects: what is asked of an object store, a trial of one, and how one fares
//   - objects/objecttest: an object store for tests, and what every one must do, as tests
//   - objects/s3: an object store that speaks the protocol of Amazon S3
//   - objects/s3/s3test: a server for tests that speaks it
//   - publicnet: connections to where strangers' URLs lead: the public network alone
//   - safetext: strangers' words: cut, escaped, and on pages in the order that they have
//   - sleep: waiting for some time, for as long as somebody wants what comes after
package base
