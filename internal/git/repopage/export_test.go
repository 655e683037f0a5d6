package repopage

import "github.com/graspd/graspd/internal/protocol/nostr"

// Stand says what a thread is after changes.
func Stand(root *nostr.Event, changes []*nostr.Event) (status nostr.Kind, subject string, labels []string) {
	x := stand(root, changes)
	return x.Status, x.Subject, x.Labels
}
