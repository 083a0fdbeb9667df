from .viewer.viewer import listen, make_viewer, serve

__all__ = ["listen", "make_viewer", "serve"]
