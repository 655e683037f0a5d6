// Package nip34 reads the git events (NIP-34) by which something is decided into typed views and says which repositories
// and events an event names. It reads liberally what others wrote and looks at a bounded part of it; it never judges
// whether an event is wanted, who may decide for a repository, or whether a URL is any good: grasp and policy do.
package nip34
