variable "PYTHON_VERSION" { default = "3.12" }

group "default" { targets = ["server"] }

target "server" {
  name = "server-${replace(cuda, ".", "-")}-${ubuntu == "22.04" ? "jammy" : "noble"}"
  matrix = {
    cuda   = ["12.9.1", "13.0.2"]
    ubuntu = ["22.04", "24.04"]
  }
  target    = "server"
  platforms = ["linux/amd64"]
  args = {
    CUDA_VERSION         = cuda
    UBUNTU_VERSION       = ubuntu
    PYTHON_VERSION       = PYTHON_VERSION
    TORCH_CUDA_ARCH_LIST = cuda == "13.0.2" ? "8.0 9.0 12.0+PTX" : "8.0 9.0+PTX"
  }
  tags = ["registry.example.com/team/server:${cuda}-${ubuntu}"]
}
