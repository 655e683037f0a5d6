package nip34

import "github.com/graspd/graspd/internal/protocol/nostr"

// Trait says what the events of a kind are to a relay of git. A kind may have several.
type Trait uint16

// The traits.
const (
	Thread   Trait = 1 << iota // what people read and talk about: issue, patch, pull request
	Root                       // names a repository and may be named in its place: threads and updates of pull requests
	Standing                   // the status of a thread
	Hosted                     // tells of a repository itself: its announcement and its state
	Personal                   // the author tells of themselves, or takes back: taken from participants whatever it names
	ByAuthor                   // hardly used but for git: asked for by author, where people keep what they write
	Naming                     // names repositories or root events: what to ask for where a filter must have kinds
	Foremost                   // the most needed of these, for relays that take ten kinds
	Searched                   // its text is searched (NIP-50)
)

// kinds is the one table of the kinds that graspd knows by what they are, in ascending order. A new kind gets its row here, its constant in
// kind.go and, if queries should merge it (a new format of the store), its place in layout.UsualKinds.
var kinds = [...]struct {
	kind   nostr.Kind
	name   string // what people call one of these events
	traits Trait
}{
	{nostr.KindMetadata, "profile", Personal},
	{nostr.KindNote, "note", Naming},
	{nostr.KindDeletion, "deletion request", Personal | Naming | Foremost},
	{nostr.KindReaction, "reaction", Naming},
	{nostr.KindVanish, "request to vanish", Personal},
	{nostr.KindComment, "comment", ByAuthor | Naming | Foremost},
	{KindPatch, "patch", Thread | Root | ByAuthor | Naming | Foremost | Searched},
	{KindPullRequest, "pull request", Thread | Root | ByAuthor | Naming | Foremost | Searched},
	{KindPullRequestUpdate, "update of a pull request", Root | ByAuthor | Naming | Foremost},
	{KindIssue, "issue", Thread | Root | ByAuthor | Naming | Foremost | Searched},
	{KindReplyOld, "reply", ByAuthor | Naming},
	{KindCoverNote, "cover note", ByAuthor | Naming},
	{KindStatusOpen, "status: open", Standing | ByAuthor | Naming | Foremost},
	{KindStatusApplied, "status: applied", Standing | ByAuthor | Naming | Foremost},
	{KindStatusClosed, "status: closed", Standing | ByAuthor | Naming | Foremost},
	{KindStatusDraft, "status: draft", Standing | ByAuthor | Naming | Foremost},
	{nostr.KindReport, "report", 0},
	{nostr.KindLabel, "label", ByAuthor | Naming},
	{nostr.KindZap, "zap", Naming},
	{KindWorkflowResult, "result of a workflow", Naming},
	{nostr.KindRelayList, "list of relays", Personal},
	{KindGraspList, "list of servers", Personal},
	{KindRepository, "announcement of a repository", Hosted | ByAuthor | Searched},
	{KindState, "state of a repository", Hosted | ByAuthor},
}

// Kinds returns the kinds that have any of the traits, in ascending order. Each call makes a new slice.
func Kinds(of Trait) (out []nostr.Kind) {
	for _, k := range kinds {
		if k.traits&of != 0 {
			out = append(out, k.kind)
		}
	}
	return out
}

// Is reports whether events of a kind have any of the traits.
func Is(k nostr.Kind, of Trait) bool {
	for i := range kinds {
		if kinds[i].kind == k {
			return kinds[i].traits&of != 0
		}
	}
	return false
}

// NameOf returns what people call an event of a kind, and "" for kinds that graspd does not know.
func NameOf(k nostr.Kind) string {
	for i := range kinds {
		if kinds[i].kind == k {
			return kinds[i].name
		}
	}
	return ""
}
