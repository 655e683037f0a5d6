package status

// Refused is an event that the relay did not take, for its operator.
type Refused struct {
	Last    Moment `json:"last"`              // when it came last
	Times   int    `json:"times"`             // how often the same author was refused such a thing for that reason
	From    string `json:"from"`              // the relay that brought it; "" is a client
	Author  string `json:"author"`            // npub
	Called  string `json:"author_name"`       // what the author calls themselves, where that is known
	Event   string `json:"event"`             // id, in hex
	Kind    uint16 `json:"kind"`              // of the event
	What    string `json:"what"`              // what people call it: its kind, and its name or subject
	Address string `json:"address,omitempty"` // of an addressable event
	Why     string `json:"why"`               // what the client heard
}
