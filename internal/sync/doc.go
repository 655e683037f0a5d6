// Package sync has nothing of its own: below it is what keeps the log complete. It learns from the log which events are wanted of which
// relay, asks each relay in the way that the relay bears, and stays subscribed.
//
// Read want first, then peer: one relay as a state machine, inputs in and effects out. The packages below peer are its parts. relaysync performs
// the effects, one shell per relay.
//
// What is here never serves a client, never takes an event past the door, and never believes a relay: what is not proven is shown as not proven.
//
// The packages:
//
//   - mailbox: where participants keep what they write, and what to ask of which relay for that
//   - peer: the life of one relay: what is wanted of it, state and input in, effects out
//   - peer/bisect: the repositories that one relay refuses to be asked for, found by trials that are halved
//   - peer/capacity: what a relay bears: how much at once, as it tells and as its refusals teach, and how fast
//   - peer/coverage: how much of what is here a relay has, per repository, as reconciliations tell anyway
//   - peer/demands: what a relay demands before it answers: AUTH, kinds in filters, no requests to vanish
//   - peer/gaps: since when items of a relay have had a live REQ, and which events those did not bring: gaps
//   - peer/history: how one relay has behaved and attempts to connect to it ended: when it is dialed, gets a slot and loses it, also after a restart
//   - peer/itemset: items of a Want in groups: sets, counted bags, and lots that are asked together
//   - peer/livesubs: which live REQs there should be at one relay: how what waits is packed, what is merged, and what gives way and is swept
//   - peer/paging: all that one filter matches, from a relay that answers in pages of unknown size
//   - peer/reconcile: one filter compared with a relay (NIP-77): which times next, what is got by id, whether there may be more, what is paged
//   - peer/refusal: what relays mean when they turn a request down, and what a NOTICE may be about
//   - peer/reqfilter: the filters of items, and how long a REQ gets: Wants and numbers in, filters out
//   - peer/threads: layer 4 of one relay: which stored events lead to more at it, what is asked about them, one question after the other, and when
//   - peer/threads/surveytest: a store of some events that answers a survey, for tests
//   - peer/unsolicited: which messages of a relay nobody asked for, or are too long
//   - relayconn: the client side of one connection to a relay
//   - relayread: all that a relay has of a filter, read once on somebody's order
//   - relaysync: the engine that runs the fold, and one shell per remote relay
//   - slots: who gets one of a bounded number of slots
//   - want: what to want of every relay, folded from what was accepted, and who maintains what
//   - want/wanttest: announcements, root events and folds for tests
package sync
