// Package bip340 verifies BIP-340 signatures over secp256k1. Everything that it
// is given is public, so nothing takes constant time.
//
// The field is its own, as this prime allows for half the work of a general
// one; scalars come from gnark-crypto. Both scalars of sG - eP are split in
// halves by the curve's endomorphism, the four halves share their doublings,
// and the multiples of the key are made without an inversion.
//
// With the build tag libsecp256k1 that library verifies in its stead.
package bip340
