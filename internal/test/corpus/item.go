package corpus

// What is the part that an event plays.
type What uint8

// The parts. A sync is planned by Announcement to Issue.
const (
	Announcement      What = iota // 30617 of an owner
	Maintainer                    // 30617 of somebody whom an owner lists as maintainer
	State                         // 30618
	Patch                         // 1617
	PullRequest                   // 1618
	PullRequestUpdate             // 1619
	Issue                         // 1621
	Comment                       // 1111, on a root, a comment or a repository
	Reply                         // 1 and 1622, older ways to comment
	Status                        // 1630 to 1633
	CoverNote                     // 1624
	Label                         // 1985
	Reaction                      // 7
	Quote                         // 1 with q
	Deletion                      // 5
	Noise                         // anything that no relay of the corpus wants
)

// Fate is what a relay makes of an event in the end. The relay is one that a repository of the event lists, that accepts by GRASP-01, and
// that gets the whole corpus, in whatever order.
type Fate uint8

// The fates.
const (
	Served   Fate = iota // stored and served
	Replaced             // an older version: the newer one is Served, or Deleted
	Deleted              // its author deleted it (NIP-09)
	Expired              // its time is over at Until (NIP-40)
	Refused              // no relay of the corpus wants it
	Loose                // its repository was deleted; the order of arrival decides whether it is stored
)
