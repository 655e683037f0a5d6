// Package wanttest makes what tests of the fold and of its peers are about: announcements and root events (Mint), a fold that
// they go into (Fold), a history of both at random (Shop), and what a Want holds, in words. Only tests import it.
package wanttest
