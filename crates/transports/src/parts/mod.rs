//! Organs that transports share.
