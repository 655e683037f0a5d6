// Package arch holds no code of the program: its test keeps the architecture
// that docs/ARCHITECTURE.md describes true.
package arch
