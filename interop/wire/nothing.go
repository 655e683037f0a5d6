package wire

import (
	"github.com/graspd/graspd/internal/protocol/negentropy"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// HasNothing is what a relay without events answers to a message of a reconciliation (NIP-77).
func HasNothing(sub string, msg []byte) []byte {
	reply, err := negentropy.Respond(negentropy.NewSet(nil), 0, msg)
	if err != nil {
		return nostr.AppendNegErr(nil, sub, err.Error(), 0)
	}
	return nostr.AppendNegMsg(nil, sub, reply)
}
