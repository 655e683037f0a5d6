// Package bip340 verifies BIP-340 signatures over secp256k1. All its arguments
// are public, so nothing takes constant time.
//
// The package has its own arithmetic of the field, as this prime allows for half
// the work of a general one; scalars come from gnark-crypto. The curve's
// endomorphism splits both scalars of sG - eP in halves, the four halves share
// their doublings, and the multiples of the key are made without an inversion.
//
// With the build tag libsecp256k1 that library verifies instead.
package bip340
