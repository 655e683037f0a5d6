// Package fair shares a bounded amount of something among those who have work done with it: bytes of memory or disk, slots, places. An Account
// knows who has how much, keeps a part for whoever has taken little, has whoever took most give way, and lets those who find no room wait in a
// fair order. Read Config, then Account. Turns is for what has turns and no amount.
package fair

import "time"

// Party is who has something of an account, or asks for it. Rules hold for each of the names that are not empty; an address is always in the
// same network. Nothing but the total
// bounds the zero Party: it is the service itself, or its operator.
type Party struct {
	Address string // whoever has one address
	Network string // the network of that address, where one customer has many addresses; may be empty, or the address itself
	Owner   string // for whom the work is, such as the owner of a repository
}

// Config says how parties share an amount. These rules hold:
//
//   - All parties together have no more than Total, and no more than Room finds.
//   - An address has at most Address, a network Network, an owner Owner.
//   - An eighth of the total is for parties that then have no more than Little.
//   - While others wait, or were refused within the last contestedFor for want of room, nobody gets more than half of the total.
//   - Where there is no room, grants that may be revoked give way: first those that grow by less than Slow a second (or are used at
//     that pace, see Grant.Progress), then those of the party that has most, where that has more than who asks would have; of that party, each
//     time, the oldest, or the newest with Newest. Who is slow has nobody give way. See Grant.RevocableFor too.
//   - A grant that several parties use is of the one that has least; see Grant.Of.
//   - Who waits for room goes first where their party has least of the account, then where it used it least lately (see Account.Charge), then
//     the same of the owners, then who came first. What does not fit is passed by what does,
//     for five seconds. From then on the first of those who have waited for as long is kept room for: only parties that then have no more than
//     Little pass it, while what they all have leaves room for it once all others have given back what they have.
//   - After fifteen seconds, a party that has nothing goes before all who came later, however long it used the account.
//   - A party that waits keeps one place, whoever comes.
//
// What a party has is what its network has, or else its address, or else what is under way for the owner and of no address.
type Config struct {
	Name    string           // what parties share, in the plural
	Total   int64            // more than 0
	Room    func() int64     // how much all may have together just now, such as bytes of the disk; must not block. Nil is Total
	Address int64            // 0 is Total
	Network int64            // 0 is four times Address, but at most half of Total or Address
	Owner   int64            // 0 is Total
	Little  int64            // 0 keeps the eighth for nobody
	Slow    int64            // 0 has nobody give way for being slow
	Newest  bool             // has the newest grant of a party give way: where a grant is work, that has least to lose
	Brief   time.Duration    // so long a use, or its remainder, counts as none in who goes first; 0 is a second
	Now     func() time.Time // nil is time.Now

	// For Account.Wait and Grant.Wait.
	Places    int           // how many may wait; 0 is 64. Beyond, the newest of the party that has most waiting makes room
	PlacesOne int           // how many may wait of one party; 0 is 8
	Most      time.Duration // how long one waits; 0 is without a bound
	Patience  time.Duration // how long one waits before others' grants are revoked; 0 is not at all
}

const (
	contestedFor  = 10 * time.Second // how long a refusal for want of room halves what others get
	slowAfter     = 10 * time.Second // from when on a grant may be too slow
	half          = 5 * time.Second  // how old half of what counts for a grant's growth is
	burst         = 64               // seconds of what is just not slow: more never counts for the pace of a grant
	lookAgain     = time.Second      // between two looks at whether there is room for who waits
	passedFor     = 5 * time.Second  // how long those who ask for less pass who waits
	agedAfter     = 15 * time.Second // from when on who has nothing and waits longest goes first
	networkFactor = 4
)

func (c Config) withDefaults() Config {
	or := func(n *int64, d int64) {
		if *n == 0 || *n > d {
			*n = d
		}
	}
	or(&c.Address, c.Total)
	or(&c.Network, min(networkFactor*c.Address, max(c.Address, c.Total/2)))
	or(&c.Owner, c.Total)
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Brief == 0 {
		c.Brief = time.Second
	}
	if c.Places == 0 {
		c.Places = 64
	}
	if c.PlacesOne == 0 {
		c.PlacesOne = 8
	}
	return c
}

// Refusal says why an account grants nothing. As an error it is for logs and errors.Is.
type Refusal int

// The refusals.
const (
	Granted     Refusal = iota // it is granted
	OverAddress                // the address or network has as much as it may have
	OverOwner                  // the owner has as much as they may have
	OverAll                    // there is not enough for all
	NoPlace                    // too many wait already
	TooLong                    // it waited as long as one may
)

// Error says it in words.
func (r Refusal) Error() string {
	switch r {
	case Granted:
		return "it is granted"
	case OverAddress:
		return "your address has as much as one address may have"
	case OverOwner:
		return "as much is under way for this owner as may be for one"
	case OverAll:
		return "there is not enough for all"
	case NoPlace:
		return "too many wait already"
	default:
		return "it waited too long"
	}
}
