"""An explainer's forward pass for other runtimes: a torch module for GPUs, a graph for ONNX."""
