package relay

import (
	"encoding/json"

	"github.com/graspd/graspd/internal/nip11"
)

// namesPath is where somebody's name at this host is asked for (NIP-05), and rootName the one that stands for the host itself.
const (
	namesPath = "/.well-known/nostr.json"
	rootName  = "_"
)

// operatorNamed is the answer to who has the host's own name: the operator, where they say what their key is.
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
		panic(err) // of texts none can fail
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
