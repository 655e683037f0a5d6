// Package serve has nothing of its own: below it is what faces clients. The public listener knows who comes and what they may have in
// hand, and the relay answers them.
//
// Read front first: a Visitor is who comes, a Route is who answers. Then relay, with a session per connection.
//
// What is here never asks another relay anything, and never does work for a stranger before an account has let it.
//
// The packages:
//
//   - forward: what a node that follows has the one that leads answer: pushes, events, and whatever else writes
//   - front: the public listener, the rates of every address, accounts of what clients hold, and which route answers
//   - highlight: code by strangers as HTML, with colours
//   - markdown: strangers' Markdown as HTML that does no harm
//   - members: who may use a private service, and which of them signed a request
//   - relay: the server side: sessions, subscriptions, NIP-11, NIP-77 provider
//   - web: what public pages have in common: their style, and how they are sent
package serve
