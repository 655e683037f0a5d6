package election

// Effect is something to be done. What it leads to comes back as an Input.
type Effect interface{ effect() }

// Connect opens a stream of the leader's entries after the node's own position, in place of the one before: then Heard, again and again, and Lost
// in the end.
type Connect struct{ To string }

// Look reads the log after the node's own position. A follower takes what is there: then Applied and, at the end of the log, Ended. A leader
// takes nothing: then Deposed where an entry of a later term is there, else Ended. Unseen comes where the log does not tell.
type Look struct{}

// Lead begins a term at the position after Position: then Led or NotLed. Where the node has taken more of the log since, it does not begin one.
type Lead struct{ Position uint64 }

// Drain has a leader take nothing more from clients, and write what it took: then Drained, or Deposed.
type Drain struct{}

// Call asks a follower to lead once it has the log up to Position: then HandedOver.
type Call struct {
	Node     string
	Position uint64
}

// Restart answers whoever waits with an error, and starts the process anew, as a follower.
type Restart struct{}

// Quit ends the process.
type Quit struct{}

func (Connect) effect() {}
func (Look) effect()    {}
func (Lead) effect()    {}
func (Drain) effect()   {}
func (Call) effect()    {}
func (Restart) effect() {}
func (Quit) effect()    {}
