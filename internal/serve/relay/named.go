package relay

import (
	"encoding/json"

	"github.com/graspd/graspd/internal/protocol/nip11"
)

// namesPath is the path at which clients ask who has a name at this host (NIP-05), and rootName the name that stands for the host itself.
const (
	namesPath = "/.well-known/nostr.json"
	rootName  = "_"
)

// operatorNamed returns the answer to the question who has the host's own name: the operator. It is nil where the document does not tell
// the operator's key.
func operatorNamed(info nip11.Document) []byte {
	if info.PubKey == "" {
		return nil
	}
	return names(map[string]string{rootName: info.PubKey})
}

func names(by map[string]string) []byte {
	b, err := json.Marshal(struct {
		Names map[string]string `json:"names"`
	}{by})
	if err != nil {
		panic(err) // a map of texts can always be written
	}
	return b
}

// named returns the answer to the question who has that name here. Nobody but the operator has a name.
func (p *presented) named(name string) []byte {
	if name == rootName && p.operator != nil {
		return p.operator
	}
	return names(map[string]string{})
}
