// Package nip11 knows the relay information document, in which a relay describes itself over HTTP (NIP-11, with the fields
// that GRASP-01 adds). It writes our own document and reads the documents of others, which are strangers' input: Parse
// takes what it can use, drops the rest and keeps a bounded amount. It fetches nothing; the limits that other relays name
// are hints.
package nip11

import (
	"encoding/json"
	"fmt"
)

// ContentType is the media type of the document, in the Accept header of the request and the Content-Type of the answer.
const ContentType = "application/nostr+json"

// Document is a relay information document. Zero values stand for absent fields: an empty text, no list, a limit of 0.
type Document struct {
	Name                   string     `json:"name,omitempty"`
	Description            string     `json:"description,omitempty"`
	Banner                 string     `json:"banner,omitempty"`                   // URL
	Icon                   string     `json:"icon,omitempty"`                     // URL
	PubKey                 string     `json:"pubkey,omitempty"`                   // the operator's key, hex
	Self                   string     `json:"self,omitempty"`                     // the relay's own key, hex
	Contact                string     `json:"contact,omitempty"`                  // URI
	SupportedNIPs          []int      `json:"supported_nips,omitempty"`           // sorted, no repeats
	SupportedGRASPs        []string   `json:"supported_grasps,omitempty"`         // such as "GRASP-02"
	RepoAcceptanceCriteria string     `json:"repo_acceptance_criteria,omitempty"` // GRASP-01, for humans
	Curation               string     `json:"curation,omitempty"`                 // GRASP-01, absent unless the relay is curated
	Software               string     `json:"software,omitempty"`                 // URL
	Version                string     `json:"version,omitempty"`
	TermsOfService         string     `json:"terms_of_service,omitempty"` // URL
	PostingPolicy          string     `json:"posting_policy,omitempty"`   // URL
	Negentropy             int        `json:"negentropy,omitempty"`       // version of the protocol of NIP-77, a common extension
	Limitation             Limitation `json:"limitation,omitzero"`
}

// Limitation holds the limits that a relay names. A 0 stands for an absent limit, but in MinPoWDifficulty for no work.
type Limitation struct {
	MaxMessageLength    int   `json:"max_message_length,omitempty"` // bytes of one frame that a client sends
	MaxSubscriptions    int   `json:"max_subscriptions,omitempty"`  // per connection
	MaxFilters          int   `json:"max_filters,omitempty"`        // per REQ; no longer in the NIP, still widely read
	MaxLimit            int   `json:"max_limit,omitempty"`          // a larger limit is clamped to this
	MaxSubIDLength      int   `json:"max_subid_length,omitempty"`
	MaxEventTags        int   `json:"max_event_tags,omitempty"`
	MaxContentLength    int   `json:"max_content_length,omitempty"` // unicode characters
	MinPoWDifficulty    int   `json:"min_pow_difficulty"`           // leading zero bits (NIP-13)
	AuthRequired        bool  `json:"auth_required"`
	PaymentRequired     bool  `json:"payment_required"`
	RestrictedWrites    bool  `json:"restricted_writes"`
	CreatedAtLowerLimit int64 `json:"created_at_lower_limit,omitempty"` // seconds in the past
	CreatedAtUpperLimit int64 `json:"created_at_upper_limit,omitempty"` // seconds in the future
	DefaultLimit        int   `json:"default_limit,omitempty"`          // used where a filter has no limit
}

// JSON returns the document as the relay serves it.
func (d Document) JSON() ([]byte, error) {
	b, err := json.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("encode relay information: %w", err)
	}
	return b, nil
}
