package testkit

import "github.com/graspd/graspd/internal/nostr"

// Habits is what a relay is like for good; one that behaves still has them. The
// zero value answers everything, completely, newest first.
type Habits struct {
	PageCap int  // events per filter whatever is asked
	Quarter bool // a filter that asks for more than PageCap gets a quarter of it
	Oldest  bool // oldest first, as some relays do without being asked
	Moody   bool // the newest or the oldest, as it comes, and in any order; a page out of the middle could be read by nobody
	Loose   bool // a tag filter finds values under any tag name, and, whatever their time, those that begin alike
	Honest  bool // replaces and deletes as NIP-01 and NIP-09 say; otherwise everything is kept and offered

	Subs    Bound // REQs at once
	Filters Bound // filters in a REQ
	Values  Bound // values in a filter's list
	Zero    ZeroMode

	Neg        NegMode
	NegRecords int  // more are too big to reconcile
	NegNewest  int  // only so many, the newest, are reconciled, without a word
	NegVaries  bool // any number of them from none to NegNewest, each time
	Given      int  // events that are asked by id, at most, without a word
	Withheld   int  // of 100 events: shown in reconciliations, never delivered

	Auth  AuthMode
	Kinds KindsMode
	Odd   OddMode
}

// Bound is a limit that the relay enforces by its own word.
type Bound struct {
	Most int // 0 = none
	How  Refusal
	Text string
}

func (b Bound) exceeded(n int) bool { return b.Most > 0 && n > b.Most }

// Refusal is how a relay says no to a REQ.
type Refusal int

// The ways to refuse.
const (
	ByClosed     Refusal = iota
	ByNotice             // without the subscription's id
	ByNoticeLate         // after the stored events and EOSE, and then nothing live
	ByEOSE               // a NOTICE, then EOSE with nothing
)

// ZeroMode is what a limit of 0 does.
type ZeroMode int

// The ways to take a limit of 0.
const (
	ZeroFine    ZeroMode = iota
	ZeroMute             // no EOSE comes
	ZeroRefused          // CLOSED
)

// NegMode is how a fake relay treats NIP-77.
type NegMode int

// The ways to treat NEG-OPEN.
const (
	NegWorks NegMode = iota
	NegNotice
	NegClosed
	NegErr
	NegError // the misspelt label
	NegSilent
	NegDrop
	NegUnknown // a NOTICE to every NEG message, NEG-CLOSE too
	NegEndless // 25 s for each answer, and thousands of ids that it does not have
)

// Temper is how often, of 100 times, a relay does what a good one does not.
type Temper struct {
	RefuseDial int // a connection
	Busy       int // a connection is refused with HTTP 429
	Drop       int // the connection ends in the middle of an answer
	Break      int // CLOSED comes in the middle of an answer: slow down
	Silence    int // a request is not answered
	Closed     int // a request is refused by CLOSED, for one reason or another
	Notice     int // a NOTICE comes along with an answer
	LoseLive   int // an event is not shown live
	ForgetLive int // a live subscription is forgotten, without a word
	Double     int // an event, or an EOSE, comes twice
	Unknown    int // an EOSE or an event comes for a subscription that nobody opened
	LateEOSE   int // the EOSE comes after the CLOSE
	End        int // CLOSED without a reason follows the EOSE, where the client has not closed yet
	Forged     int // a copy with another content comes before the event
	Mismatch   int // an event comes that the filter does not match
	Junk       int // a frame that is no message
	Big        int // a frame of a megabyte
	NegLost    int // a reconciliation is lost
}

// closedTexts are reasons that relays give; none is for good.
var closedTexts = []string{
	"rate-limited: slow down", "error: could not connect to the database", "ERROR: bad req: something", "", "blocked: not now",
	"rate-limited: there is a bug in the client, no one should be making so many requests",
}

var noticeTexts = []string{"welcome", "rate limited", "ERROR: too many concurrent REQs", "could not parse command", "have a nice day"}

// withheld says whether the relay shows an event and never delivers it.
func (h Habits) withheld(id nostr.ID) bool { return int(id[31])%100 < h.Withheld }
