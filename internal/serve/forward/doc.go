// Package forward has a node that follows ask the one that leads for what that one alone does: it carries requests of clients there, and events. The
// client's address goes along, so that the leader's accounts stay those of clients. Read Carrier for the node that follows, and Leader for the other.
package forward

import "time"

// What nodes say to each other, in headers and paths. Both sides are the same version, or one apart: what is not known is ignored.
const (
	clientHead = "Graspd-Client"  // the address of the client for whom a node asks; "-" is none
	notYetHead = "Graspd-Not-Yet" // the node does not answer for clients, as it does not lead, or not yet
	eventsPath = "/events"        // POST: events, which are answered once they are decided
)

// Patience is how long what needs the node that leads waits while there is none. Then people hear ingest.NoWriter.
const Patience = 15 * time.Second
