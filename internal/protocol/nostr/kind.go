package nostr

// Kind is the type of an event. The class of a kind decides what a relay keeps (NIP-01); kinds between the classes count as regular.
type Kind uint16

// Kinds that are not particular to git; those of NIP-34 have their names in package nip34.
const (
	KindMetadata      Kind = 0
	KindNote          Kind = 1
	KindFollows       Kind = 3
	KindDeletion      Kind = 5     // NIP-09
	KindRepost        Kind = 6     // NIP-18
	KindReaction      Kind = 7     // NIP-25
	KindGenericRepost Kind = 16    // NIP-18
	KindVanish        Kind = 62    // NIP-62
	KindGiftWrap      Kind = 1059  // NIP-59
	KindComment       Kind = 1111  // NIP-22
	KindReport        Kind = 1984  // NIP-56
	KindLabel         Kind = 1985  // NIP-32
	KindZap           Kind = 9735  // NIP-57
	KindRelayList     Kind = 10002 // NIP-65
	KindAuth          Kind = 22242 // NIP-42, never stored or forwarded
)

// IsReplaceable reports whether a relay keeps only the newest event of each author and kind.
func (k Kind) IsReplaceable() bool {
	return k == KindMetadata || k == KindFollows || 10000 <= k && k < 20000
}

// IsEphemeral reports whether a relay forwards events of this kind and never stores them.
func (k Kind) IsEphemeral() bool { return 20000 <= k && k < 30000 }

// IsAddressable reports whether a relay keeps only the newest event of each author, kind and d tag.
func (k Kind) IsAddressable() bool { return 30000 <= k && k < 40000 }
