package nip11

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// MaxSize is the largest document, in bytes, that Parse takes. Whoever fetches a document may stop reading there.
const MaxSize = 256 << 10

// ErrTooLarge says that a document is longer than MaxSize.
var ErrTooLarge = errors.New("relay information is larger than 256 KiB")

// Parse reads another relay's document. It takes a field that is unknown, of the wrong type or out of range as absent. Numbers may be
// floats or strings, and supported_nips may hold strings. Parse keeps 1,024 bytes of each text and 256 entries of each list. It fails
// where b is no JSON object, and with ErrTooLarge.
func Parse(b []byte) (Document, error) {
	if len(b) > MaxSize {
		return Document{}, ErrTooLarge
	}
	var o object
	if err := json.Unmarshal(bytes.TrimPrefix(b, []byte("\xef\xbb\xbf")), &o); err != nil {
		return Document{}, fmt.Errorf("parse relay information: %w", err)
	}
	if o == nil {
		return Document{}, errors.New("parse relay information: null is not an object")
	}
	return Document{
		Name:                   o.text("name"),
		Description:            o.text("description"),
		Banner:                 o.text("banner"),
		Icon:                   o.text("icon"),
		PubKey:                 o.text("pubkey"),
		Self:                   o.text("self"),
		Contact:                o.text("contact"),
		SupportedNIPs:          o.nips("supported_nips"),
		SupportedGRASPs:        o.texts("supported_grasps"),
		RepoAcceptanceCriteria: o.text("repo_acceptance_criteria"),
		Curation:               o.text("curation"),
		Software:               o.text("software"),
		Version:                o.text("version"),
		TermsOfService:         o.text("terms_of_service"),
		PostingPolicy:          o.text("posting_policy"),
		Negentropy:             o.count("negentropy"),
		Limitation:             parseLimitation(o.object("limitation")),
	}, nil
}

func parseLimitation(o object) Limitation {
	return Limitation{
		MaxMessageLength:    o.count("max_message_length"),
		MaxSubscriptions:    o.count("max_subscriptions"),
		MaxFilters:          o.count("max_filters"),
		MaxLimit:            o.count("max_limit"),
		MaxSubIDLength:      o.count("max_subid_length"),
		MaxEventTags:        o.count("max_event_tags"),
		MaxContentLength:    o.count("max_content_length"),
		MinPoWDifficulty:    o.count("min_pow_difficulty"),
		AuthRequired:        o.flag("auth_required"),
		PaymentRequired:     o.flag("payment_required"),
		RestrictedWrites:    o.flag("restricted_writes"),
		CreatedAtLowerLimit: o.seconds("created_at_lower_limit"),
		CreatedAtUpperLimit: o.seconds("created_at_upper_limit"),
		DefaultLimit:        o.count("default_limit"),
	}
}

func (o object) nips(key string) []int {
	var nips []int
	for _, raw := range o.list(key) {
		n, ok := number(raw)
		if !ok || n < 1 || n > 9999 {
			continue
		}
		nips = append(nips, int(n))
	}
	slices.Sort(nips)
	return slices.Compact(nips)
}
