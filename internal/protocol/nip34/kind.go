package nip34

import "github.com/graspd/graspd/internal/protocol/nostr"

// Kinds of NIP-34, and others that git clients use.
const (
	KindPatch             nostr.Kind = 1617
	KindPullRequest       nostr.Kind = 1618
	KindPullRequestUpdate nostr.Kind = 1619
	KindIssue             nostr.Kind = 1621
	KindReplyOld          nostr.Kind = 1622 // no longer in NIP-34; replies are nostr.KindComment now
	KindCoverNote         nostr.Kind = 1624
	KindStatusOpen        nostr.Kind = 1630
	KindStatusApplied     nostr.Kind = 1631 // merged, or resolved for an issue
	KindStatusClosed      nostr.Kind = 1632
	KindStatusDraft       nostr.Kind = 1633
	KindWorkflowResult    nostr.Kind = 9842 // NIP-C1, a proposal, as ngit reads it
	KindGraspList         nostr.Kind = 10317
	KindRepository        nostr.Kind = 30617
	KindState             nostr.Kind = 30618
)
