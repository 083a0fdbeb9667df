"""Previews of human studies, in which researchers play participants' seats before the launch."""
