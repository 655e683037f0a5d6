package grasp

import (
	"net/url"
	"strings"

	"github.com/graspd/graspd/internal/nip19"
	"github.com/graspd/graspd/internal/nip34"
	"github.com/graspd/graspd/internal/nostr"
)

// NostrURL is the URL by which ngit clones a repository, with this service as the relay to ask. The wss:// of the relay is left out.
func (s Service) NostrURL(owner nostr.PubKey, identifier string) string {
	return "nostr://" + s.clientPath(owner, identifier)
}

// ClientURL is the page of a repository in a web client.
func (s Service) ClientURL(owner nostr.PubKey, identifier string) string {
	return "https://gitworkshop.dev/" + s.clientPath(owner, identifier)
}

func (s Service) clientPath(owner nostr.PubKey, identifier string) string {
	hint := strings.TrimPrefix(string(s.RelayURL()), "wss://")
	return nip19.Npub(owner) + "/" + Escape(hint) + "/" + Escape(identifier)
}

// maxWebURL is how long a link that is shown may be, in bytes.
const maxWebURL = 500

// WebPages gives the first links of the announcement that a browser can follow, at most so many.
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
