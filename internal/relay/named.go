package relay

import (
	"encoding/json"

	"github.com/graspd/graspd/internal/nip11"
)

// namesPath is where clients ask who has a name at this host (NIP-05), and rootName the name that stands for the host itself.
const (
	namesPath = "/.well-known/nostr.json"
	rootName  = "_"
)

// operatorNamed is the answer to who has the host's own name: the operator; nil where the document does not tell their key.
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

// named is the answer to who has a name here. Nobody but the operator has one.
func (p *presented) named(name string) []byte {
	if name == rootName && p.operator != nil {
		return p.operator
	}
	return names(map[string]string{})
}
