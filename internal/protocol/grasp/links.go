package grasp

import (
	"net/url"
	"strings"

	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// NostrURL returns the URL by which ngit clones a repository, with this service as the relay to ask. The wss:// of the relay is left out.
func (s Service) NostrURL(owner nostr.PubKey, identifier string) string {
	return "nostr://" + s.clientPath(owner, identifier)
}

// ClientURL returns the URL of a repository's page in a web client.
func (s Service) ClientURL(owner nostr.PubKey, identifier string) string {
	return "https://gitworkshop.dev/" + s.clientPath(owner, identifier)
}

func (s Service) clientPath(owner nostr.PubKey, identifier string) string {
	hint := strings.TrimPrefix(string(s.RelayURL()), "wss://")
	return nip19.Npub(owner) + "/" + Escape(hint) + "/" + Escape(identifier)
}

// ServerName returns this service as ngit takes it after --grasp-server: the host where it has a certificate.
func (s Service) ServerName() string { return strings.TrimPrefix(string(s.RelayURL()), "wss://") }

// maxWebURL is the longest link, in bytes, that WebPages returns.
const maxWebURL = 500

// WebPages returns the first links of the announcement that a browser can follow, at most most links.
func WebPages(a *nip34.Announcement, most int) (links []string) {
	for _, w := range a.Web[:min(len(a.Web), maxLooked)] {
		if len(links) == most {
			break
		}
		if u, err := url.Parse(w); err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && len(w) <= maxWebURL {
			links = append(links, w)
		}
	}
	return links
}
