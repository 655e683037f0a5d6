package nostr

// ClientMessage is a message of a client: EventMsg, Req, Close, Auth, Count, NegOpen, NegMsg or NegClose.
type ClientMessage interface{ clientMessage() }

// RelayMessage is a message of a relay: RelayEvent, OK, EOSE, Closed, Notice, AuthChallenge, CountResult, NegMsg, NegErr or NegClose.
type RelayMessage interface{ relayMessage() }

// EventMsg publishes an event.
type EventMsg struct{ Event *Event }

// Req opens the subscription Sub, or replaces it.
type Req struct {
	Sub     string
	Filters []Filter // at least one
}

// Close ends a subscription.
type Close struct{ Sub string }

// Auth answers an AuthChallenge (NIP-42).
type Auth struct{ Event *Event }

// Count asks how many events match any of the filters (NIP-45).
type Count struct {
	Sub     string
	Filters []Filter // at least one
}

// NegOpen begins a reconciliation (NIP-77). Sub may be that of an open REQ too: reconciliations have their own names.
type NegOpen struct {
	Sub    string
	Filter Filter
	Msg    []byte // decoded from hex
}

// NegMsg is one step of a reconciliation, in either direction.
type NegMsg struct {
	Sub string
	Msg []byte // decoded from hex
}

// NegClose ends a reconciliation. Some relays send it too.
type NegClose struct{ Sub string }

// RelayEvent is an event for a subscription.
type RelayEvent struct {
	Sub   string
	Event *Event
}

// OK is the verdict on an event that was published or sent as AUTH.
type OK struct {
	ID     ID
	OK     bool
	Reason string // "prefix: text", may be empty when OK
}

// EOSE ends the stored phase of a subscription.
type EOSE struct{ Sub string }

// Closed says that a subscription was refused or has ended.
type Closed struct{ Sub, Reason string }

// Notice is free text for people.
type Notice struct{ Text string }

// AuthChallenge invites the client to authenticate (NIP-42).
type AuthChallenge struct{ Challenge string }

// CountResult answers Count (NIP-45).
type CountResult struct {
	Sub   string
	Count int64
}

// NegErr says that a reconciliation was refused or has ended (NIP-77).
type NegErr struct {
	Sub, Reason string
	Max         int64 // the largest number of records that the relay reconciles, 0 if it does not say
}

func (EventMsg) clientMessage() {}
func (Req) clientMessage()      {}
func (Close) clientMessage()    {}
func (Auth) clientMessage()     {}
func (Count) clientMessage()    {}
func (NegOpen) clientMessage()  {}
func (NegMsg) clientMessage()   {}
func (NegClose) clientMessage() {}

func (RelayEvent) relayMessage()    {}
func (OK) relayMessage()            {}
func (EOSE) relayMessage()          {}
func (Closed) relayMessage()        {}
func (Notice) relayMessage()        {}
func (AuthChallenge) relayMessage() {}
func (CountResult) relayMessage()   {}
func (NegMsg) relayMessage()        {}
func (NegErr) relayMessage()        {}
func (NegClose) relayMessage()      {}
