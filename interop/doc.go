// Package interop holds tests only: they run the built graspd against relays and clients that others wrote, on loopback. It is a
// module of its own, so that what they need is nothing that graspd depends on.
package interop
